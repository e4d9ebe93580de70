import { ProvisoError } from "../errors.ts";

/**
 * A value that a placeholder cannot show, or a function of a section that threw: `evaluate` makes a PromptRenderError
 * of it.
 */
export class RenderFault extends ProvisoError {
  readonly code = "render_fault";
  override readonly name = "RenderFault";
  /** Dotted path of the section. */
  readonly section: string;
  readonly placeholder: string | undefined;
  constructor(
    message: string,
    details: { readonly section: string; readonly placeholder?: string; readonly cause?: unknown },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.section = details.section;
    this.placeholder = details.placeholder;
  }
}
