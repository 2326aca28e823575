//! What must be remembered of a token while the vocabulary passes by in tiles?

use crate::simd::{Kernels, Sweep};

/// One entry of the student's top list.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    student: f64,
    teacher: f64,
}

/// The running sums of one token, the student's `top_k + 1` largest logits (the last one only for the gap)
/// and both logits of the recorded token.
#[derive(Debug)]
pub(super) struct Running {
    sums: Sweep,
    top: Vec<Ranked>,
    top_k: usize,
    recorded: usize,
    recorded_student: f64,
    recorded_teacher: f64,
}

/// A logit as a tile holds it.
pub(super) trait Logit: Copy + Into<f64> {
    /// Takes a tile into the sums and gives the student's largest logit in it.
    fn take(kernels: &Kernels, sums: &mut Sweep, student: &[Self], teacher: &[Self]) -> f64;
}

#[allow(unsafe_code)]
impl Logit for f32 {
    fn take(kernels: &Kernels, sums: &mut Sweep, student: &[f32], teacher: &[f32]) -> f64 {
        // SAFETY: `Kernels::of` gives functions that this CPU runs.
        unsafe { (kernels.take_f32)(sums, student, teacher) }
    }
}

#[allow(unsafe_code)]
impl Logit for f64 {
    fn take(kernels: &Kernels, sums: &mut Sweep, student: &[f64], teacher: &[f64]) -> f64 {
        // SAFETY: `Kernels::of` gives functions that this CPU runs.
        unsafe { (kernels.take_f64)(sums, student, teacher) }
    }
}

/// The results of one token, in nats.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finished {
    pub d_topk: f64,
    pub d_full: f64,
    pub logp: f64,
    pub logq: f64,
    pub kth_gap: f64,
}

impl Running {
    pub(super) fn new(top_k: usize, recorded: u32) -> Self {
        Self {
            sums: Sweep::EMPTY,
            top: Vec::with_capacity(top_k.saturating_add(1).min(1024)),
            top_k,
            recorded: recorded as usize,
            recorded_student: f64::NAN,
            recorded_teacher: f64::NAN,
        }
    }

    /// Takes in the logits of the vocabulary entries from `first_id` on. Tiles come in the order of their
    /// ids: ties in the top list go to the lower id because of it.
    pub(super) fn take<T: Logit>(
        &mut self,
        kernels: &Kernels,
        first_id: usize,
        student: &[T],
        teacher: &[T],
    ) {
        let threshold = if self.top.len() > self.top_k {
            self.top
                .last()
                .map_or(f64::NEG_INFINITY, |last| last.student)
        } else {
            f64::NEG_INFINITY
        };
        if T::take(kernels, &mut self.sums, student, teacher) > threshold {
            for (&student, &teacher) in student.iter().zip(teacher) {
                let (student, teacher): (f64, f64) = (student.into(), teacher.into());
                if student > threshold {
                    self.rank(Ranked { student, teacher });
                }
            }
        }
        if let Some(at) = self.recorded.checked_sub(first_id)
            && let (Some(&z_p), Some(&z_q)) = (student.get(at), teacher.get(at))
        {
            (self.recorded_student, self.recorded_teacher) = (z_p.into(), z_q.into());
        }
    }

    fn rank(&mut self, entry: Ranked) {
        let full = self.top.len() > self.top_k;
        if full
            && self
                .top
                .last()
                .is_some_and(|last| entry.student <= last.student)
        {
            return;
        }
        let at = self
            .top
            .partition_point(|seen| seen.student >= entry.student);
        if full {
            self.top.pop();
        }
        self.top.insert(at, entry);
    }

    /// The divergences once every tile was taken in. `log_floor` is the logarithm of the floor of `q`.
    pub(super) fn finish(&self, log_floor: f64) -> Finished {
        let [sum_p, sum_q] = self.sums.sum;
        let lse_p = self.sums.max[0] + sum_p.ln();
        let lse_q = self.sums.max[1] + sum_q.ln();
        let support = self.top.iter().take(self.top_k);
        let truncated: f64 = support
            .map(|u| {
                let log_p = u.student - lse_p;
                log_p.exp() * (log_p - (u.teacher - lse_q).max(log_floor))
            })
            .sum();
        let kth = self.top_k.checked_sub(1).and_then(|k| self.top.get(k));
        let kth_gap = match (kth, self.top.get(self.top_k)) {
            (Some(inside), Some(outside)) => inside.student - outside.student,
            _ => f64::INFINITY,
        };
        Finished {
            d_topk: truncated.max(0.0),
            d_full: self.sums.cross / sum_p - lse_p + lse_q,
            logp: self.recorded_student - lse_p,
            logq: self.recorded_teacher - lse_q,
            kth_gap,
        }
    }
}
