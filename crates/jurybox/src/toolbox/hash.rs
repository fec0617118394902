//! Hashes that are stable across versions and machines: they decide ties, samples, splits and file
//! names.

/// 2^64 divided by the golden ratio, an odd number. Its multiples spread evenly over 64 bits.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64, a bijection of 64 bits: close numbers get very different hashes.
pub(crate) fn scatter(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of a number under a seed; different numbers have different hashes under one seed.
///
/// ```
/// use jurybox::toolbox::hash_number;
/// assert_ne!(hash_number(7, 0), hash_number(7, 1));
/// assert_eq!(hash_number(0, 0), 0xe220_a839_7b1d_cdaf); // the first number of SplitMix64
/// ```
pub fn hash_number(seed: u64, number: u64) -> u64 {
    scatter(seed ^ number.wrapping_add(1).wrapping_mul(GOLDEN))
}

/// A hash of a text: FNV-1a.
///
/// ```
/// assert_eq!(jurybox::toolbox::hash_text("a"), 0xaf63_dc4c_8601_ec8c);
/// ```
pub fn hash_text(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A code for a name below 2^53, so that a float holds it exactly. Two different names have the
/// same code with probability 2^-53.
///
/// ```
/// use jurybox::toolbox::{code_of, hash_number, hash_text};
/// assert_eq!(code_of("ann"), hash_number(0, hash_text("ann")) >> 11);
/// ```
pub fn code_of(name: &str) -> u64 {
    hash_number(0, hash_text(name)) >> 11
}
