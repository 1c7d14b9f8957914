process SEQLOOM_INDEX {
    tag "$fasta"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "biocontainers/seqloom:0.1.0--0"

    input:
    tuple val(meta), path(fasta)

    output:
    tuple val(meta), path("${prefix}"), emit: index
    tuple val("${task.process}"), val('seqloom'), eval("seqloom --version | sed 's/seqloom //'"), topic: versions, emit: versions_seqloom

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: 'seqloom'
    def memory = task.memory ? "-m ${(task.memory.toMega() * 0.9).intValue()}M" : ''
    """
    mkdir -p ${prefix}
    seqloom index \\
        $args \\
        -t $task.cpus \\
        $memory \\
        -p ${prefix}/${fasta} \\
        $fasta
    """

    stub:
    prefix = task.ext.prefix ?: 'seqloom'
    """
    mkdir -p ${prefix}
    touch ${prefix}/${fasta}.{amb,ann,bwt.2bit.64,fast,pac,tsa}
    """
}
