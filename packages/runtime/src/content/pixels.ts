type ImageSize = typeof import("image-size");
let loading: Promise<ImageSize | undefined> | undefined;

/** The size that an image's header states; nothing where it states none, or where the package `image-size` is not installed. */
export async function pixelsOf(
  bytes: Uint8Array,
): Promise<{ readonly width: number; readonly height: number } | undefined> {
  const loaded = await (loading ??= loadImageSize());
  if (loaded === undefined) return undefined;
  try {
    const { width, height } = loaded.imageSize(bytes);
    return Number.isSafeInteger(width) && Number.isSafeInteger(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

/** Bundlers pass over a package that is not installed where its import stands in a `try`. */
async function loadImageSize(): Promise<ImageSize | undefined> {
  try {
    return await import("image-size");
  } catch {
    return undefined;
  }
}
