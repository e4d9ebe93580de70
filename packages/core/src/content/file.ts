/** What is known of a file, wherever its bytes are. */
interface FileFacts {
  /** Shown to the model where the file stands: "[image photo.png]". 1 to 255 characters, no control characters. */
  readonly name: string;
  /** `type/subtype`, lower case, without parameters. */
  readonly mediaType: string;
  /** How closely an image is looked at, where the provider lets one choose. Default: the provider's own. */
  readonly detail?: "low" | "high" | "auto";
}

/** A file whose bytes are in a blob store, or still with this object in the process that made it. */
export interface StoredFile extends FileFacts {
  readonly kind: "stored";
  /** The SHA-256 of the bytes, hexadecimal. */
  readonly hash: string;
  /** How many bytes it has. */
  readonly bytes: number;
  /** The width in pixels, of an image whose header states it. */
  readonly width?: number;
  /** The height in pixels, of an image whose header states it. */
  readonly height?: number;
}
