process SEQLOOM_ALIGN {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "biocontainers/seqloom:0.1.0--0"

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(index)
    tuple val(meta3), path(fasta)

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
    def has_group = args =~ /(^|\s)(-R|--read-group|--rg-from-names)/
    def group = has_group ? '' : "-R '@RG\\tID:${prefix}\\tSM:${meta.id}\\tLB:${meta.id}\\tPL:ILLUMINA'"
    def reference = fasta ? "--reference-fasta ${fasta}" : ''
    """
    INDEX=\$(find -L ./ -name "*.ann" | sed 's/\\.ann\$//')

    seqloom align \\
        $group \\
        $args \\
        -t $task.cpus \\
        $memory \\
        $reference \\
        --metrics-dir metrics \\
        --json ${prefix}.seqloom.json \\
        --html ${prefix}.html \\
        -o ${prefix}.bam \\
        \$INDEX \\
        $reads
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir metrics
    touch ${prefix}.bam ${prefix}.bam.bai ${prefix}.seqloom.json ${prefix}.html
    touch metrics/${prefix}.flagstat.txt metrics/${prefix}.idxstats.txt metrics/${prefix}.markdup.txt
    """
}
