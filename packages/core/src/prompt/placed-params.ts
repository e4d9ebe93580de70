import type { CacheMarks } from "./cache-marks.ts";
import { RenderFault } from "./render-fault.ts";
import type { PlacedParam } from "./placeholders.ts";

/** The files of a rendered prompt. */
export interface RenderedFiles {
  /** The files in the user's text, as the params hold them, in the order of `at`. Left out: none. */
  readonly files?: readonly PlacedParam[];
}

/** What stands at offsets in the texts of a rendered prompt. */
export interface PlacesInTexts extends CacheMarks, RenderedFiles {}

interface Place {
  readonly role: "system" | "user";
  /** Dotted path of the section. */
  readonly path: string;
}

/** Gathers the files of sections while the texts of a prompt are put together. */
export class PlacedParams {
  readonly #files: { readonly system: PlacedParam[]; readonly user: PlacedParam[] } = { system: [], user: [] };
  #firstOfSystem: string | undefined;

  /** The last of `texts`, which are joined by an empty line, holds the files at the offsets that they have in it. */
  added({ role, path }: Place, files: readonly PlacedParam[], texts: readonly string[]): void {
    if (role === "system") this.#firstOfSystem ??= path;
    const begin = texts.slice(0, -1).reduce((sum, { length }) => sum + length + 2, 0);
    for (const { at, file } of files) this.#files[role].push(Object.freeze({ at: begin + at, file }));
  }

  /**
   * `isUsers`: without a user section, all of the text is the user's.
   * @throws {RenderFault} where the system text holds a file.
   */
  inUserText(isUsers: boolean): readonly PlacedParam[] {
    const path = this.#firstOfSystem;
    if (!isUsers && path !== undefined) {
      throw new RenderFault(
        `The section "${path}" shows a file, but is a system section: only user texts hold files.`,
        {
          section: path,
        },
      );
    }
    return Object.freeze(isUsers ? this.#files.system : this.#files.user);
  }
}
