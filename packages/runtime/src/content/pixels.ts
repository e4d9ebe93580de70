import { imageSize } from "image-size";

/** The size that an image's header states; nothing where it states none. */
export function pixelsOf(bytes: Uint8Array): { readonly width: number; readonly height: number } | undefined {
  try {
    const { width, height } = imageSize(bytes);
    return Number.isSafeInteger(width) && Number.isSafeInteger(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}
