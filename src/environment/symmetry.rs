//! The eight symmetries of the square: flips of x and y, and their exchange.
//!
//! A world of forces, distances and velocities looks the same in all of them, so one experience
//! teaches eight.

/// Number of symmetries of the square.
pub const SQUARE: usize = 8;

/// A point under symmetry number `which`: bit 0 flips x, bit 1 flips y, bit 2 exchanges them.
pub fn transform<T: Copy + std::ops::Neg<Output = T>>(which: usize, [x, y]: [T; 2]) -> [T; 2] {
    let x = if which & 1 == 1 { -x } else { x };
    let y = if which & 2 == 2 { -y } else { y };
    if which & 4 == 4 { [y, x] } else { [x, y] }
}

/// For each symmetry and action: the action whose vector is the transformed vector.
pub fn transformed_actions(vectors: &[[f64; 2]]) -> Vec<Vec<usize>> {
    let find = |wanted: [f64; 2]| vectors.iter().position(|vector| *vector == wanted);
    (0..SQUARE)
        .map(|which| vectors.iter().filter_map(|&vector| find(transform(which, vector))).collect())
        .take_while(|actions: &Vec<usize>| actions.len() == vectors.len())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetries_are_distinct_and_the_first_is_none() {
        let images: Vec<_> = (0..SQUARE).map(|which| transform(which, [1.0, 2.0])).collect();
        assert_eq!(images[0], [1.0, 2.0]);
        assert!((1..SQUARE).all(|i| !images[..i].contains(&images[i])), "{images:?}");
    }

    #[test]
    fn actions_transform_with_their_vectors() {
        let vectors = [[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]];
        let transformed = transformed_actions(&vectors);
        assert_eq!(transformed.len(), SQUARE);
        assert_eq!(transformed[1], [0, 2, 1, 3, 4]);
        assert_eq!(transformed[4], [0, 3, 4, 1, 2]);
    }
}
