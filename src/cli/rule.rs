//! Which rule decides, and with what settings?

use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::Error;
use crate::rules::{Covered, Mean, Paper, Residual, Rule, Signed, Stated};
use crate::score::{Kl, ScoreOptions};

/// Options that decide what is sensitive.
#[derive(Args, Clone, Debug)]
pub(crate) struct RuleArgs {
    /// Who decides: `default` (words, and the model where they do not tell), `paper` (the published count of divergent tokens) or one
    /// of the rules it was compared with, see docs/rules.md.
    #[arg(long, value_enum, default_value_t = RuleName::Default)]
    pub rule: RuleName,
    /// K of the truncated divergence.
    #[arg(long, default_value_t = 20)]
    pub top_k: usize,
    /// paper: a token is sensitive above this normalised divergence [default: 0.2]; mean: a segment above this mean [default: 0.05].
    #[arg(long, allow_negative_numbers = true)]
    pub tau: Option<f64>,
    /// paper and signed: this many sensitive tokens make a segment sensitive. [default: 2]
    #[arg(long)]
    pub kappa: Option<usize>,
    /// paper: a token counts only above this divergence. [default: 0]
    #[arg(long, value_name = "NATS", allow_negative_numbers = true)]
    pub min_nats: Option<f64>,
    /// residual and signed: their threshold [default: 1.5 and 0.2]. default: adds a bare pass; what the model predicts within this much may go.
    #[arg(long, value_name = "NATS", allow_negative_numbers = true)]
    pub nats: Option<f64>,
    /// Which divergence the rules that read one take.
    #[arg(long, value_enum, default_value_t = KlName::Topk)]
    pub kl: KlName,
    /// Branches are read in packs; one is closed once it holds this many tokens. More is faster and takes more memory.
    #[arg(long, value_name = "TOKENS", default_value_t = 1024)]
    pub batch_tokens: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleName {
    Default,
    Paper,
    Mean,
    Signed,
    Residual,
    Stated,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KlName {
    Topk,
    Full,
}

impl RuleArgs {
    /// How tokens are scored.
    pub fn score(&self) -> Result<ScoreOptions, Error> {
        if self.top_k == 0 {
            return Err(option("--top-k", "0".into(), "at least 1"));
        }
        if self.batch_tokens == 0 {
            return Err(option("--batch-tokens", "0".into(), "at least 1"));
        }
        Ok(ScoreOptions {
            top_k: self.top_k,
            kl: match self.kl {
                KlName::Topk => Kl::Topk,
                KlName::Full => Kl::Full,
            },
            batch_tokens: self.batch_tokens,
        })
    }

    /// The rule. A setting that it does not have is an error.
    pub fn rule(&self) -> Result<Arc<dyn Rule>, Error> {
        use RuleName::{
            Default, Mean as MeanRule, Paper as PaperRule, Residual as ResidualRule,
            Signed as SignedRule,
        };
        self.only("--tau", self.tau, &[PaperRule, MeanRule], "paper or mean")?;
        let kappa = self.kappa.map(|k| k as f64);
        self.only(
            "--kappa",
            kappa,
            &[PaperRule, SignedRule],
            "paper or signed",
        )?;
        self.only("--min-nats", self.min_nats, &[PaperRule], "paper")?;
        self.only(
            "--nats",
            self.nats,
            &[Default, ResidualRule, SignedRule],
            "default, residual or signed",
        )?;
        if self.tau.is_some_and(|tau| !tau.is_finite()) {
            return Err(option(
                "--tau",
                format!("{:?}", self.tau.unwrap_or(f64::NAN)),
                "a number",
            ));
        }
        if self.kappa == Some(0) {
            return Err(option("--kappa", "0".into(), "at least 1"));
        }
        for (name, nats) in [("--min-nats", self.min_nats), ("--nats", self.nats)] {
            if let Some(nats) = nats.filter(|n| n.is_nan() || *n < 0.0) {
                return Err(option(name, nats.to_string(), "0 or more"));
            }
        }
        Ok(match self.rule {
            Default => Arc::new(self.nats.map_or_else(Covered::default, Covered::with_bare)),
            PaperRule => {
                let rule = Paper::published();
                Arc::new(Paper {
                    tau: self.tau.unwrap_or(rule.tau),
                    kappa: self.kappa.unwrap_or(rule.kappa),
                    min_nats: self.min_nats.unwrap_or(rule.min_nats),
                    ..rule
                })
            }
            MeanRule => {
                let rule = Mean::default();
                Arc::new(Mean {
                    tau: self.tau.unwrap_or(rule.tau),
                })
            }
            SignedRule => {
                let rule = Signed::default();
                Arc::new(Signed {
                    nats: self.nats.unwrap_or(rule.nats),
                    kappa: self.kappa.unwrap_or(rule.kappa),
                })
            }
            ResidualRule => {
                let rule = Residual::default();
                Arc::new(Residual {
                    nats: self.nats.unwrap_or(rule.nats),
                })
            }
            RuleName::Stated => Arc::new(Stated),
        })
    }

    fn only(
        &self,
        name: &'static str,
        set: Option<f64>,
        of: &[RuleName],
        expected: &str,
    ) -> Result<(), Error> {
        match set {
            Some(value) if !of.contains(&self.rule) => {
                let own = self.rule.to_possible_value();
                let own = own.map_or(String::new(), |v| v.get_name().to_owned());
                Err(option(
                    name,
                    format!("{value} with --rule {own}"),
                    &format!("--rule {expected}, which has such a setting"),
                ))
            }
            _ => Ok(()),
        }
    }
}

fn option(option: &'static str, found: String, expected: &str) -> Error {
    Error::Option {
        option,
        found,
        expected: expected.into(),
    }
}
