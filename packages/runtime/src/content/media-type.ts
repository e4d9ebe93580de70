// What the first bytes of a file say of its type. Sources: the format specifications, and the WHATWG MIME Sniffing
// Standard.

/** The media type that the bytes show; undefined where they show none that is known here. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
  const at = (offset: number, text: string): boolean =>
    Array.from(text).every((character, index) => bytes[offset + index] === character.charCodeAt(0));
  if (at(0, "\u0089PNG\r\n\u001a\n")) return "image/png";
  if (at(0, "\u00ff\u00d8\u00ff")) return "image/jpeg";
  if (at(0, "GIF87a") || at(0, "GIF89a")) return "image/gif";
  if (at(0, "RIFF") && at(8, "WEBP")) return "image/webp";
  if (at(0, "RIFF") && at(8, "WAVE")) return "audio/wav";
  if (at(0, "%PDF-")) return "application/pdf";
  if (at(0, "ID3") || isMpegAudio(bytes)) return "audio/mpeg";
  if (at(0, "OggS")) return "audio/ogg";
  if (at(0, "fLaC")) return "audio/flac";
  // A picture in AVIF is in the same container as a film, and is none of the types that are known here.
  if (at(4, "ftyp")) return isHeic(at) ? "image/heic" : at(8, "avi") ? undefined : "video/mp4";
  if (at(0, "\u001a\u0045\u00df\u00a3") && holds(bytes, "webm")) return "video/webm";
  return undefined;
}

function isHeic(at: (offset: number, text: string) => boolean): boolean {
  return ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"].some((brand) => at(8, brand));
}

/** The frame sync of MPEG audio, layer III. */
function isMpegAudio([first = 0, second = 0]: Uint8Array): boolean {
  return first === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
}

/** Whether a Matroska header names its kind. */
function holds(bytes: Uint8Array, word: string): boolean {
  return new TextDecoder("latin1").decode(bytes.subarray(0, 64)).includes(word);
}

/** Other names of one type: what a file claims is compared by the first. */
const sameTypes: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/heif": "image/heic",
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/mp3": "audio/mpeg",
  "audio/x-flac": "audio/flac",
  "audio/opus": "audio/ogg",
  "application/ogg": "audio/ogg",
  "video/ogg": "audio/ogg",
  "audio/mp4": "video/mp4",
  "audio/x-m4a": "video/mp4",
  "audio/m4a": "video/mp4",
  "video/quicktime": "video/mp4",
  "audio/webm": "video/webm",
  "application/x-pdf": "application/pdf",
};

const shownByBytes = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/heic",
  "application/pdf",
  "audio/wav",
  "audio/mpeg",
  "audio/ogg",
  "audio/flac",
  "video/mp4",
  "video/webm",
];

/** What a reference to a file may claim (FILE-12). */
const mediaTypes = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/;

/** The type by name alone, `type/subtype` in lower case; "" where nothing is claimed. */
export function claimedType(type: string): string {
  const bare = (type.split(";")[0] ?? "").trim().toLowerCase();
  return bare === "application/octet-stream" || !mediaTypes.test(bare) ? "" : bare;
}

/** What is claimed of bytes, what they show, and the media type that follows from both. */
export interface ReadType {
  /** "" where nothing is claimed. */
  readonly claimed: string;
  /** undefined where the bytes show no type that is known here. */
  readonly shown: string | undefined;
  /** false: the bytes are not what is claimed. */
  readonly isBelieved: boolean;
  /** `application/octet-stream` where nothing says what it is. A claim that is not believed says nothing. */
  readonly mediaType: string;
}

/** Reads the type of bytes for which `type` is claimed. */
export function typeFrom(bytes: Uint8Array, type: string): ReadType {
  const claimed = claimedType(type);
  // A note may begin with "ID3" or "GIF89a": what claims to be text, and is, is believed.
  const shown = claimed.startsWith("text/") && isText(bytes) ? undefined : mediaTypeOf(bytes);
  // Nothing contradicts a claim where there are no bytes.
  const isBelieved = bytes.length === 0 || fits(claimed, shown);
  // A claim of the same kind that is narrower stands: sound in an mp4.
  const isShown = shown !== undefined && !(isBelieved && isOtherNameOf(claimed, shown));
  const known = isShown ? shown : isBelieved ? claimed : "";
  return { claimed, shown, isBelieved, mediaType: known === "" ? "application/octet-stream" : known };
}

/** Whether a claim fits what the bytes show. */
function fits(claimed: string, shown: string | undefined): boolean {
  if (claimed === "") return true;
  const one = sameTypes[claimed] ?? claimed;
  return shown === undefined ? !shownByBytes.includes(one) : one === shown;
}

/** Whether the bytes are UTF-8 without the control characters that files of other kinds have. */
function isText(bytes: Uint8Array): boolean {
  if (bytes.some((byte) => byte < 9 || (byte > 13 && byte < 32 && byte !== 27))) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Sound in a container of films keeps its own name. */
function isOtherNameOf(claimed: string, shown: string): boolean {
  return shown.startsWith("video/") && claimed.startsWith("audio/");
}
