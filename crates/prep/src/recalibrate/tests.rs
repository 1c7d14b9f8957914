//! Recalibration against GATK's reports and records.
