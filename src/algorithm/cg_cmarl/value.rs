//! What a region learns of a trade-off: heads that see the multipliers, heads that do not, or one value
//! of the reward at their price (Eq. td-augmented).

use super::HeadKind;
use serde::{Deserialize, Serialize};

/// What a region's network values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// A value of the task and one of each cost, all of which see the multipliers.
    #[default]
    Heads,
    /// The same values without the multipliers, which enter at action selection only (the paper's).
    TwoHead,
    /// One value of the reward at the price of its costs, which sees the multipliers (the paper's
    /// λ-augmented variant).
    Augmented,
}

impl ValueKind {
    /// Whether the multipliers are an input of the network.
    pub fn sees_multipliers(self) -> bool {
        self != Self::TwoHead
    }

    /// Values of a region under this many constraints.
    pub fn n_heads(self, n_constraints: usize) -> usize {
        if self == Self::Augmented { 1 } else { 1 + n_constraints }
    }
}

/// r_λ = r_0 + Σ_j λ_j r_j with r_j = −c_j (Eq. td-augmented).
pub fn augmented_reward(reward: f32, costs: &[f32], multipliers: &[f32]) -> f32 {
    let price: f32 = costs.iter().zip(multipliers).map(|(cost, m)| m * cost).sum();
    reward - price
}

/// The shape of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenOptions", into = "WrittenOptions")]
pub struct NetworkOptions {
    /// Widths of the trunk's layers.
    pub hidden: Vec<usize>,
    /// Outputs of each head: `free` (the paper's) or `tied`.
    pub head: HeadKind,
    /// What the network values: `heads`, `two_head` or `augmented`.
    pub value: ValueKind,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self { hidden: vec![128, 128], head: HeadKind::Tied, value: ValueKind::Heads }
    }
}

/// The options as files hold them: `multiplier_input` is what files of every version have, `value` is
/// only there where it says more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WrittenOptions {
    hidden: Vec<usize>,
    head: HeadKind,
    multiplier_input: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<ValueKind>,
}

impl Default for WrittenOptions {
    fn default() -> Self {
        NetworkOptions::default().into()
    }
}

impl From<NetworkOptions> for WrittenOptions {
    fn from(NetworkOptions { hidden, head, value }: NetworkOptions) -> Self {
        let multiplier_input = value.sees_multipliers();
        let value = (value == ValueKind::Augmented).then_some(value);
        Self { hidden, head, multiplier_input, value }
    }
}

impl TryFrom<WrittenOptions> for NetworkOptions {
    type Error = String;

    fn try_from(written: WrittenOptions) -> Result<Self, String> {
        let WrittenOptions { hidden, head, multiplier_input, value } = written;
        let value = match (multiplier_input, value) {
            (true, value) => value.unwrap_or_default(),
            (false, None | Some(ValueKind::TwoHead)) => ValueKind::TwoHead,
            (false, Some(ValueKind::Heads | ValueKind::Augmented)) => {
                return Err("`value=heads` and `value=augmented` see the multipliers, which \
                            `multiplier_input=false` (or `preset=two_head` or `paper`) takes away"
                    .into());
            }
        };
        Ok(Self { hidden, head, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_taken_from_the_reward_at_their_price() {
        // 2 − 0.5·4 − 3·0.25.
        assert!((augmented_reward(2.0, &[4.0, 0.25], &[0.5, 3.0]) + 0.75).abs() < 1e-6);
        assert_eq!(augmented_reward(2.0, &[4.0], &[0.0]), 2.0);
    }

    fn read(text: &str) -> Result<ValueKind, String> {
        let options: Result<NetworkOptions, _> = toml::from_str(text);
        options.map(|options| options.value).map_err(|error| error.to_string())
    }

    #[test]
    fn earlier_files_and_new_ones_say_the_same() {
        assert_eq!(read("").unwrap(), ValueKind::Heads);
        assert_eq!(read("multiplier_input = true").unwrap(), ValueKind::Heads);
        assert_eq!(read("multiplier_input = false").unwrap(), ValueKind::TwoHead);
        assert_eq!(read("value = \"two_head\"").unwrap(), ValueKind::TwoHead);
        let augmented = "multiplier_input = true\nvalue = \"augmented\"";
        assert_eq!(read(augmented).unwrap(), ValueKind::Augmented);
        let wrong = read("multiplier_input = false\nvalue = \"augmented\"").unwrap_err();
        assert!(wrong.contains("multiplier_input=false"), "{wrong}");
        for value in [ValueKind::Heads, ValueKind::TwoHead, ValueKind::Augmented] {
            let options = NetworkOptions { value, ..NetworkOptions::default() };
            let text = toml::to_string(&options).unwrap();
            assert_eq!(text.contains("value"), value == ValueKind::Augmented, "{text}");
            assert_eq!(toml::from_str::<NetworkOptions>(&text).unwrap(), options);
        }
    }
}
