//! Kernels for the vector instructions that the processor has.
//!
//! The code of a kernel is one safe body, compiled for three sets of instructions; which one is
//! chosen at run time.
#![allow(unsafe_code)]

use std::fmt::Debug;

/// A set of vector instructions; only [`Instructions::all`] makes one.
#[derive(Debug, Clone, Copy)]
enum Instructions {
    /// What every processor of the target has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With its BW and VL parts, and AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// All that this processor has, the widest last.
    fn all() -> Vec<Self> {
        let mut all = vec![Self::Baseline];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            all.push(Self::Avx2);
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
                all.push(Self::Avx512);
            }
        }
        all
    }

    /// Lanes of 8 bits.
    const fn lanes(self) -> usize {
        match self {
            Self::Baseline => 16,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 32,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 64,
        }
    }
}

/// Code with its memory. [`Kernel::run`] is always inlined, so that it is compiled for the
/// instructions of whoever calls it.
pub(in super::super) trait Kernel<Call> {
    fn run(&mut self, call: Call);
}

/// One kernel in the width of each set of instructions: 16, 32 and 64 lanes of 8 bits.
pub(in super::super) trait KernelSet {
    type Baseline: Default + Debug;
    type Avx2: Default + Debug;
    type Avx512: Default + Debug;
}

/// The kernel for one set of instructions.
#[derive(Debug)]
enum Form<K: KernelSet> {
    Baseline(K::Baseline),
    #[cfg(target_arch = "x86_64")]
    Avx2(K::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(K::Avx512),
}

/// A kernel for instructions that the processor has.
#[derive(Debug)]
pub(in super::super) struct Dispatched<K: KernelSet> {
    form: Form<K>,
    /// Lanes of 8 bits.
    pub(in super::super) lanes: usize,
}

impl<K: KernelSet> Dispatched<K> {
    /// For all that the processor has, the widest last.
    #[cfg(test)]
    pub(in super::super) fn all() -> Vec<Self> {
        Instructions::all().into_iter().map(Self::of).collect()
    }

    /// For the widest instructions that the processor has of those with `most` lanes at most.
    pub(in super::super) fn of_lanes(most: usize) -> Self {
        let fitting = Instructions::all().into_iter().rfind(|it| it.lanes() <= most);
        Self::of(fitting.unwrap_or(Instructions::Baseline))
    }

    fn of(instructions: Instructions) -> Self {
        let form = match instructions {
            Instructions::Baseline => Form::Baseline(K::Baseline::default()),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => Form::Avx2(K::Avx2::default()),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => Form::Avx512(K::Avx512::default()),
        };
        Self { form, lanes: instructions.lanes() }
    }

    pub(in super::super) fn run<Call>(&mut self, call: Call)
    where
        K::Baseline: Kernel<Call>,
        K::Avx2: Kernel<Call>,
        K::Avx512: Kernel<Call>,
    {
        match &mut self.form {
            Form::Baseline(kernel) => kernel.run(call),
            // SAFETY: this form is made only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(kernel) => unsafe { with_avx2(kernel, call) },
            // SAFETY: this form is made only where the processor has all of these.
            #[cfg(target_arch = "x86_64")]
            Form::Avx512(kernel) => unsafe { with_avx512(kernel, call) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<Call>(kernel: &mut impl Kernel<Call>, call: Call) {
    kernel.run(call);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512bw,avx512vl")]
fn with_avx512<Call>(kernel: &mut impl Kernel<Call>, call: Call) {
    kernel.run(call);
}
