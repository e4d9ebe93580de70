/** The checksum of a PNG's chunk. Source: the PNG specification, annex D. */
function checksum(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (0xedb88320 & -(rest & 1));
  }
  return ~rest >>> 0;
}

/** The checksum of a zlib stream. Source: RFC 1950. */
function adler(bytes: Uint8Array): number {
  let [low, high] = [1, 0];
  for (const byte of bytes) {
    low = (low + byte) % 65_521;
    high = (high + low) % 65_521;
  }
  return ((high << 16) | low) >>> 0;
}

function fourBytes(number: number): readonly number[] {
  return [number >>> 24, (number >>> 16) & 255, (number >>> 8) & 255, number & 255];
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = Uint8Array.from([...new TextEncoder().encode(type), ...data]);
  return Uint8Array.from([...fourBytes(data.length), ...body, ...fourBytes(checksum(body))]);
}

/** A zlib stream that is not compressed. Source: RFC 1951, section 3.2.4. */
function stored(data: Uint8Array): Uint8Array {
  const most = 65_535;
  const parts: number[] = [0x78, 0x01];
  for (let from = 0; from < data.length || from === 0; from += most) {
    const block = data.subarray(from, from + most);
    const isLast = from + most >= data.length;
    parts.push(isLast ? 1 : 0, block.length & 255, block.length >> 8, ~block.length & 255, (~block.length >> 8) & 255);
    for (const byte of block) parts.push(byte);
  }
  return Uint8Array.from([...parts, ...fourBytes(adler(data))]);
}

/** Makes a PNG of one grey colour, for tests. Default: 8 by 8 pixels, "test.png". */
export function testImage(
  options: { readonly width?: number; readonly height?: number; readonly name?: string } = {},
): File {
  const { width = 8, height = 8, name = "test.png" } = options;
  const row = new Uint8Array(width + 1).fill(128);
  row[0] = 0;
  const pixels = new Uint8Array(row.length * height);
  for (let y = 0; y < height; y++) pixels.set(row, y * row.length);
  const header = Uint8Array.from([...fourBytes(width), ...fourBytes(height), 8, 0, 0, 0, 0]);
  const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  const parts = [signature, chunk("IHDR", header), chunk("IDAT", stored(pixels)), chunk("IEND", new Uint8Array())];
  return new File(parts as Uint8Array<ArrayBuffer>[], name, { type: "image/png" });
}
