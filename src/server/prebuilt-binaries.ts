/**
 * SHA-256 of the binaries of uWebSockets.js that may be loaded, by file: platform, architecture and
 * ABI of Node.js (115 is 20, 127 is 22, 137 is 24).
 */
export const PREBUILT_BINARIES: ReadonlyMap<string, string> = new Map([
  ['uws_linux_x64_115.node', 'f4fa5d7b697529b45ac8aa3d57385d9af51bc1d2b26aa9f5b68ca4361542e665'],
  ['uws_linux_x64_127.node', '78e38a9a163b1cf33ce539619e5908111dea95a12e7943d95fbcdd524879caa8'],
  ['uws_linux_x64_137.node', '3b549c14e01d9d1faf234cdf4b6f0fb08158605e3692cd0eb1b905e327bd3449'],
  ['uws_linux_arm64_115.node', '034e0fcccdc08f90df3b130f421516311831b1352fe38eab91abc2984c2fdf3a'],
  ['uws_linux_arm64_127.node', 'a7d9bc3ec166421a49416d5ea4f49118ae68ea1dbf8a765c4f45a79b0b6adb13'],
  ['uws_linux_arm64_137.node', 'b6eb007d627e00bcce03ad38f197124e9027c03f6fe784b37f97b8a6ea709cb4'],
])
