import { ProvisoError } from "../../errors.ts";
import type { Visibility } from "./visibility.ts";

/** A tool handler may throw it: its changes are undone, the sections open, the loop goes on. */
export class VisibilityExpansionRequired extends ProvisoError {
  readonly code = "visibility";
  override readonly name = "VisibilityExpansionRequired";
  /** The visibility that each section would have, by the section's path. */
  readonly requested: Readonly<Record<string, Visibility>>;
  /** Why they have to be open; the model reads it. */
  readonly reason: string;
  constructor(requested: Readonly<Record<string, Visibility>>, reason: string) {
    super(`Sections must be opened: ${Object.keys(requested).join(", ")}. ${reason}`);
    this.requested = requested;
    this.reason = reason;
  }
}
