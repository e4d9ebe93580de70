import type { CompiledSection } from "./compile.ts";

/** Where a prompt cache may begin a new stretch of a rendered prompt. */
export interface CacheMarks {
  /** Where sections that are `cached` end, as offsets in `system` and `user`; left out where there are none. */
  readonly cacheAt?: { readonly system: readonly number[]; readonly user: readonly number[] };
}

interface ShownSection {
  readonly compiled: CompiledSection;
}

/** Returns the last section below each one that is cached, since the mark stands behind all of it. */
export function markedSections(shown: readonly ShownSection[]): ReadonlySet<ShownSection> | undefined {
  let marked: Set<ShownSection> | undefined;
  for (const { compiled } of shown) {
    if (compiled.section.cached !== true) continue;
    const last = shown.findLast(({ compiled: { path } }) => `${path}.`.startsWith(`${compiled.path}.`));
    if (last !== undefined) (marked ??= new Set()).add(last);
  }
  return marked;
}

/** Gathers the ends of sections while the texts of a prompt are put together. */
export class MarkedEnds {
  readonly #marked: ReadonlySet<ShownSection>;
  readonly #ends: { readonly system: number[]; readonly user: number[] } = { system: [], user: [] };

  constructor(marked: ReadonlySet<ShownSection>) {
    this.#marked = marked;
  }

  /** A section was added to the texts of its role, which are joined by an empty line. */
  added(section: ShownSection, texts: readonly string[]): void {
    if (!this.#marked.has(section)) return;
    const end = texts.reduce((sum, { length }) => sum + length, 2 * Math.max(0, texts.length - 1));
    this.#ends[section.compiled.role].push(end);
  }

  /** `isUsers`: without a user section, all of the text is the user's. */
  cacheAt(isUsers: boolean): NonNullable<CacheMarks["cacheAt"]> {
    const { system, user } = this.#ends;
    return isUsers ? { system: places([]), user: places(system) } : { system: places(system), user: places(user) };
  }
}

/** Each place once; none is in front of all text. */
function places(ends: readonly number[]): readonly number[] {
  return Object.freeze([...new Set(ends)].filter((at) => at > 0));
}
