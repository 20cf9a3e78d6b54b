//! Who gets where at one step: moves into an occupied or contested cell are blocked.
//!
//! All move at once. A cell that several want is entered by nobody, and two robots cannot change
//! places; who wants the cell of a robot that stays, or is blocked, is blocked too. Robots in a row,
//! or in a ring of three or more, may follow each other.

/// Nobody stands there, or blocks there.
pub(super) const NOBODY: usize = usize::MAX;

/// The moves of one step; its buffers are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    /// Row = cell: the robot that stands there.
    occupants: Vec<usize>,
    /// Row = cell: the first robot that wants to go there.
    claims: Vec<usize>,
    /// For each robot: who blocks it.
    pub(super) blockers: Vec<usize>,
}

impl Traffic {
    /// Finds out who is blocked, and moves all others from their cells to where they want.
    pub(super) fn resolve(&mut self, n_cells: usize, cells: &mut [usize], targets: &[usize]) {
        let Self { occupants, claims, blockers } = self;
        for (places, length) in
            [(&mut *occupants, n_cells), (&mut *claims, n_cells), (&mut *blockers, cells.len())]
        {
            places.clear();
            places.resize(length, NOBODY);
        }
        for (robot, &cell) in cells.iter().enumerate() {
            occupants[cell] = robot;
        }
        let moves = |robot: usize| targets[robot] != cells[robot];
        for robot in (0..cells.len()).filter(|&robot| moves(robot)) {
            let claim = &mut claims[targets[robot]];
            if *claim == NOBODY {
                *claim = robot;
                continue;
            }
            blockers[robot] = *claim;
            if blockers[*claim] == NOBODY {
                blockers[*claim] = robot;
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for robot in (0..cells.len()).filter(|&robot| moves(robot)) {
                let other = occupants[targets[robot]];
                if blockers[robot] != NOBODY || other == NOBODY {
                    continue;
                }
                let stays = !moves(other) || blockers[other] != NOBODY;
                if stays || targets[other] == cells[robot] {
                    blockers[robot] = other;
                    changed = true;
                }
            }
        }
        for robot in 0..cells.len() {
            if blockers[robot] == NOBODY {
                cells[robot] = targets[robot];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where robots are after a step, and who was blocked by whom.
    fn resolved(cells: &[usize], targets: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let (mut traffic, mut cells) = (Traffic::default(), cells.to_vec());
        traffic.resolve(10, &mut cells, targets);
        (cells, traffic.blockers)
    }

    #[test]
    fn a_contested_cell_is_entered_by_nobody() {
        assert_eq!(resolved(&[0, 2], &[1, 1]), (vec![0, 2], vec![1, 0]));
    }

    #[test]
    fn robots_do_not_change_places_but_follow_each_other() {
        assert_eq!(resolved(&[0, 1], &[1, 0]), (vec![0, 1], vec![1, 0]));
        assert_eq!(resolved(&[0, 1], &[1, 2]), (vec![1, 2], vec![NOBODY; 2]));
        assert_eq!(resolved(&[0, 1, 2], &[1, 2, 0]).0, [1, 2, 0]);
    }

    #[test]
    fn what_is_blocked_blocks_what_follows() {
        // The last in the row meets one that stays.
        let (cells, blockers) = resolved(&[0, 1, 2, 3], &[1, 2, 3, 3]);
        assert_eq!((cells, blockers), (vec![0, 1, 2, 3], vec![1, 2, 3, NOBODY]));
    }
}
