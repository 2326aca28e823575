//! How fast at which step?

use serde::{Deserialize, Serialize};

/// Linear warm-up from 0 to `peak`, then a half cosine down to `floor * peak` at `steps`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The highest rate.
    pub peak: f64,
    /// Steps of the warm-up.
    pub warmup: usize,
    /// Steps in all.
    pub steps: usize,
    /// The last rate as a share of the highest.
    pub floor: f64,
}

impl Schedule {
    /// The rate of step `step`, from 0 on.
    pub fn at(&self, step: usize) -> f64 {
        let warm = ((step + 1) as f64 / self.warmup.max(1) as f64).min(1.0);
        let way = (step as f64 / self.steps.max(1) as f64).min(1.0);
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * way).cos());
        self.peak * warm * (cosine * (1.0 - self.floor) + self.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_then_down() {
        let schedule = Schedule {
            peak: 1e-3,
            warmup: 10,
            steps: 100,
            floor: 0.1,
        };
        assert!(schedule.at(0) < 1.1e-4 && schedule.at(0) > 0.9e-4);
        assert!((10..99).all(|s| schedule.at(s) > schedule.at(s + 1)));
        assert!((schedule.at(100) - 1e-4).abs() < 1e-12 && schedule.at(500) == schedule.at(100));
    }
}
