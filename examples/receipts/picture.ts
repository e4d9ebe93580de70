// A PNG with eight bits of grey a pixel, drawn and read here. Source: PNG specification, third edition.
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { isSet, letterAt, letterWidth, lineHeight } from "./letters.ts";

const signature = Buffer.from("\u0089PNG\r\n\u001a\n", "latin1");
/** Pixels a dot. */
const scale = 4;
const [ink, paper] = [40, 240];

/** Draws a text of capitals, digits, dots and dashes as a picture. */
export function drawText(lines: readonly string[]): Buffer {
  const width = Math.max(...lines.map((line) => line.length)) * letterWidth * scale;
  const height = lines.length * lineHeight * scale;
  const pixels = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const dot = isSet(lines, Math.floor(x / scale), Math.floor(y / scale));
      // Each row begins with its filter, here 0.
      pixels[y * (width + 1) + 1 + x] = dot ? ink : paper;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pixels)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Reads the text in a picture that `drawText` made. */
export function readText(png: Buffer): readonly string[] {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const pixels = inflateSync(dataOf(png));
  const isDot = (x: number, y: number): boolean => {
    const pixel = pixels[y * scale * (width + 1) + 1 + x * scale] ?? paper;
    return pixel < (ink + paper) / 2;
  };
  return Array.from({ length: height / scale / lineHeight }, (_, line) =>
    Array.from({ length: width / scale / letterWidth }, (__, column) => letterAt(isDot, column, line))
      .join("")
      .trimEnd(),
  );
}

function dataOf(png: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return Buffer.concat(parts);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
