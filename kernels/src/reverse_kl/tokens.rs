//! What must be remembered of a token while the vocabulary passes by in tiles?

/// One entry of the student's top list.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    student: f64,
    teacher: f64,
}

/// The running sums of one token: both log-sum-exps, the sum of the full divergence, the student's
/// `top_k + 1` largest logits (the last one only for the gap) and both logits of the recorded token.
#[derive(Debug)]
pub(super) struct Running {
    student: LogSumExp,
    teacher: LogSumExp,
    /// Sum of `exp(z_p - student.max) * (z_p - z_q)`.
    cross: f64,
    top: Vec<Ranked>,
    top_k: usize,
    recorded: usize,
    recorded_student: f64,
    recorded_teacher: f64,
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

#[derive(Debug)]
struct LogSumExp {
    max: f64,
    /// Sum of `exp(z - max)`.
    sum: f64,
}

impl LogSumExp {
    const EMPTY: Self = Self {
        max: f64::NEG_INFINITY,
        sum: 0.0,
    };

    /// Lifts the maximum to that of `row` and returns the factor old sums shrink by.
    fn lift(&mut self, row: &[f64]) -> f64 {
        let max = row.iter().fold(self.max, |a, &z| a.max(z));
        // Nothing summed yet gives exp(-inf) = 0.
        let shrink = if max > self.max {
            (self.max - max).exp()
        } else {
            1.0
        };
        self.max = max;
        self.sum *= shrink;
        shrink
    }

    fn value(&self) -> f64 {
        self.max + self.sum.ln()
    }
}

impl Running {
    pub(super) fn new(top_k: usize, recorded: u32) -> Self {
        Self {
            student: LogSumExp::EMPTY,
            teacher: LogSumExp::EMPTY,
            cross: 0.0,
            top: Vec::with_capacity(top_k.saturating_add(1).min(1024)),
            top_k,
            recorded: recorded as usize,
            recorded_student: f64::NAN,
            recorded_teacher: f64::NAN,
        }
    }

    /// Takes in the finite logits of the vocabulary entries from `first_id` on. Tiles come in the order of
    /// their ids: ties in the top list go to the lower id because of it.
    pub(super) fn take(&mut self, first_id: usize, student: &[f64], teacher: &[f64]) {
        let threshold = if self.top.len() > self.top_k {
            self.top
                .last()
                .map_or(f64::NEG_INFINITY, |last| last.student)
        } else {
            f64::NEG_INFINITY
        };
        self.cross *= self.student.lift(student);
        self.teacher.lift(teacher);
        let (max_p, max_q) = (self.student.max, self.teacher.max);
        let (mut sum_p, mut sum_q, mut cross) = (self.student.sum, self.teacher.sum, self.cross);
        let mut candidates = false;
        for (&z_p, &z_q) in student.iter().zip(teacher) {
            let e = (z_p - max_p).exp();
            sum_p += e;
            cross += e * (z_p - z_q);
            sum_q += (z_q - max_q).exp();
            candidates |= z_p > threshold;
        }
        (self.student.sum, self.teacher.sum, self.cross) = (sum_p, sum_q, cross);
        if candidates {
            for (&student, &teacher) in student.iter().zip(teacher) {
                self.rank(Ranked { student, teacher });
            }
        }
        if let Some(at) = self.recorded.checked_sub(first_id)
            && let (Some(&z_p), Some(&z_q)) = (student.get(at), teacher.get(at))
        {
            (self.recorded_student, self.recorded_teacher) = (z_p, z_q);
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
        let (lse_p, lse_q) = (self.student.value(), self.teacher.value());
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
            d_full: self.cross / self.student.sum - lse_p + lse_q,
            logp: self.recorded_student - lse_p,
            logq: self.recorded_teacher - lse_q,
            kth_gap,
        }
    }
}
