// The three modules behind each other, without nf-test: nextflow run tests/all.nf --fasta F --reads 'R1,R2' [-stub]
nextflow.preview.topic = true

include { SEQLOOM_INDEX } from '../modules/nf-core/seqloom/index/main'
include { SEQLOOM_ALIGN } from '../modules/nf-core/seqloom/align/main'
include { SEQLOOM_PREP  } from '../modules/nf-core/seqloom/prep/main'

workflow {
    def fasta = [ [ id:'ref' ], file(params.fasta, checkIfExists: true) ]
    def reads = params.reads.tokenize(',').collect { name -> file(name, checkIfExists: true) }

    SEQLOOM_INDEX(fasta)
    SEQLOOM_ALIGN([ [ id:'test', single_end:reads.size() == 1 ], reads ], SEQLOOM_INDEX.out.index, fasta)
    SEQLOOM_PREP(SEQLOOM_ALIGN.out.bam, [ [ id:'ref' ], [], [] ])

    SEQLOOM_ALIGN.out.bam
        .mix(SEQLOOM_ALIGN.out.index, SEQLOOM_ALIGN.out.metrics, SEQLOOM_ALIGN.out.json, SEQLOOM_ALIGN.out.html)
        .mix(SEQLOOM_PREP.out.bam, SEQLOOM_PREP.out.index, SEQLOOM_PREP.out.metrics)
        .subscribe { meta, files -> [ files ].flatten().each { it.copyTo("${params.outdir}/${it.name}") } }
    channel.topic('versions').view { process, tool, version -> "${process.tokenize(':').last()} ${tool} ${version}" }
}
