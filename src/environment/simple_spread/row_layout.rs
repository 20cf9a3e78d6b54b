//! What the entries of a region's row are, group by group, for people who read a model elsewhere.

use super::{
    bearing::SOFTENING, observation::pairs_of, relative_row::RelativeRow, row_features::NOBODY,
};

/// What some entries are, and how many.
type Group = (String, usize);

/// The entries of the members.
pub(super) fn member_groups(size: usize, positions: bool) -> Vec<Group> {
    let (words, width) = if positions { ("velocity and position", 4) } else { ("velocity", 2) };
    (0..size).map(|member| (format!("{words} of member {member}"), width)).collect()
}

impl RelativeRow {
    /// How the numbers are computed that [`Self::layout`] names.
    pub(super) fn words(&self) -> String {
        let (coast, ahead) = (self.features.coast, self.features.look_ahead);
        format!(
            "a direction is d / (|d| + {SOFTENING}), d the displacement after {coast} s at the present velocities; \
             landmarks are listed by their distance from the nearest member; of the nearest other agent, which is \
             outside the region, each moved by {ahead} s of its velocity, the distance r ({NOBODY} where there is \
             none) and 0.2 / (r + {SOFTENING}) are shown"
        )
    }

    /// The entries of a relative row.
    pub(super) fn layout(&self) -> Vec<Group> {
        let size = self.region_size;
        let mut groups = member_groups(size, self.features.positions);
        if self.auction {
            let claim = |member| format!("the auction's landmark as member {member} sees it");
            groups.extend((0..size).map(|member| (claim(member), 5)));
        }
        for (a, b) in pairs_of(&(0..size).collect::<Vec<_>>()) {
            let words = format!("displacement, distance and direction from member {a} to {b}");
            groups.push((words, 5));
        }
        (0..self.features.n_landmarks)
            .for_each(|nth| self.landmark(&format!("landmark {nth}, nearest first"), &mut groups));
        (0..self.n_free).for_each(|nth| {
            self.landmark(&format!("free landmark {nth}, nearest first"), &mut groups);
        });
        groups.extend(self.features.team.map(|_| ("radius and density of the team".into(), 2)));
        groups
    }

    fn landmark(&self, name: &str, groups: &mut Vec<Group>) {
        let size = self.region_size;
        let named = |words: &str| format!("{name}: {words}");
        groups.push((named("displacement from each member"), 2 * size));
        groups.push((named("distance from each member"), size));
        groups.push((named("direction from each member"), 2 * size));
        if self.features.occupancy {
            groups.push((named("how far the nearest other agent is, and how near"), 2));
        }
        if self.features.flags {
            groups.push((named("whether there is one"), 1));
        }
    }
}
