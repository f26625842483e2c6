//! SHA-256, for what is compared and named by its hash. Files are hashed by the library that is made for speed.

const FIRST: [u32; 8] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

#[rustfmt::skip] // eight a line
const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// A hash of bytes that arrive in pieces.
#[derive(Debug, Clone)]
pub struct Sha256 {
    state: [u32; 8],
    block: [u8; 64],
    filled: usize,
    bytes: u64,
}

impl Default for Sha256 {
    fn default() -> Self {
        Self { state: FIRST, block: [0; 64], filled: 0, bytes: 0 }
    }
}

impl Sha256 {
    /// Adds bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let take = bytes.len().min(64 - self.filled);
            self.block[self.filled..self.filled + take].copy_from_slice(&bytes[..take]);
            (self.filled, bytes) = (self.filled + take, &bytes[take..]);
            if self.filled == 64 {
                self.compress();
                self.filled = 0;
            }
        }
    }

    /// The hash.
    pub fn finish(mut self) -> [u8; 32] {
        let bits = self.bytes.wrapping_mul(8).to_be_bytes();
        self.update(&[0x80]);
        while self.filled != 56 {
            self.update(&[0]);
        }
        self.update(&bits);
        let mut hash = [0; 32];
        for (bytes, word) in hash.chunks_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        hash
    }

    #[allow(clippy::many_single_char_names, reason = "the names of the standard")]
    fn compress(&mut self) {
        let words = schedule(&self.block);
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.state;
        for (word, round) in words.into_iter().zip(ROUNDS) {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let one = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(round).wrapping_add(word);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let two = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(two));
        }
        for (sum, word) in self.state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(word);
        }
    }
}

fn schedule(block: &[u8; 64]) -> [u32; 64] {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks(4)) {
        *word = bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    }
    for at in 16..64 {
        let (near, far) = (words[at - 2], words[at - 15]);
        let s0 = far.rotate_right(7) ^ far.rotate_right(18) ^ (far >> 3);
        let s1 = near.rotate_right(17) ^ near.rotate_right(19) ^ (near >> 10);
        words[at] = words[at - 16].wrapping_add(s0).wrapping_add(words[at - 7]).wrapping_add(s1);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    #[test]
    fn published_vectors_come_out_in_every_way_of_cutting() {
        let million = "a".repeat(1_000_000);
        for (text, expected) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (million.as_str(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ] {
            for piece in [1, 3, 55, 56, 63, 64, 65, 1000] {
                let mut hash = Sha256::default();
                text.as_bytes().chunks(piece).for_each(|piece| hash.update(piece));
                assert_eq!(hex::encode(hash.finish()), expected, "{} bytes in pieces of {piece}", text.len());
            }
        }
    }
}
