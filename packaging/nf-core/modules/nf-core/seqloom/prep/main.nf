process SEQLOOM_PREP {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "biocontainers/seqloom:0.1.0--0"

    input:
    tuple val(meta), path(input)
    tuple val(meta2), path(fasta), path(fai)

    output:
    tuple val(meta), path("*.bam"), emit: bam
    tuple val(meta), path("*.{bai,csi}"), emit: index, optional: true
    tuple val(meta), path("metrics/*.txt"), emit: metrics
    tuple val(meta), path("*.seqloom.json"), emit: json
    tuple val(meta), path("*.html"), emit: html
    tuple val("${task.process}"), val('seqloom'), eval("seqloom --version | sed 's/seqloom //'"), topic: versions, emit: versions_seqloom

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def memory = task.memory ? "-m ${(task.memory.toMega() * 0.9).intValue()}M" : ''
    def reference = fasta ? "--reference ${fasta}" : ''
    if ([input].flatten().any { it.name == "${prefix}.bam" }) {
        error("Input and output names are the same, set prefix in module configuration to disambiguate!")
    }
    """
    seqloom prep \\
        $args \\
        -t $task.cpus \\
        $memory \\
        $reference \\
        --metrics-dir metrics \\
        --json ${prefix}.seqloom.json \\
        --html ${prefix}.html \\
        -o ${prefix}.bam \\
        $input
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    if ([input].flatten().any { it.name == "${prefix}.bam" }) {
        error("Input and output names are the same, set prefix in module configuration to disambiguate!")
    }
    """
    mkdir metrics
    touch ${prefix}.bam ${prefix}.bam.bai ${prefix}.seqloom.json ${prefix}.html
    touch metrics/${prefix}.flagstat.txt metrics/${prefix}.idxstats.txt
    """
}
