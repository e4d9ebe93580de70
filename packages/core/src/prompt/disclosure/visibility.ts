import type { SectionsOpened } from "../../state/events.ts";
import { defineSlice, type Slice } from "../../state/slice.ts";

/** How much of a section the model sees at first. */
export type Visibility = "full" | "summary";

/** What was opened, and closed again, of one prompt's sections. */
export interface OpenedSections {
  /** The prompt's name. */
  readonly prompt: string;
  /** Dotted paths. */
  readonly sections: readonly { readonly path: string; readonly visibility: Visibility }[];
}

/** What is open in a session, by prompt. Part of every prompt that has a section which can be summarised. */
export const openedSections: Slice<readonly OpenedSections[]> = /* @__PURE__ */ defineSlice<readonly OpenedSections[]>({
  name: "proviso.opened-sections",
  initial: [],
  reducers: ({ on }) =>
    on("sections.opened", (draft, event) => {
      const known = draft.find(({ prompt }) => prompt === event.promptName);
      const changed = changedSections(event);
      const kept = (known?.sections ?? []).filter(({ path }) => changed.every((other) => other.path !== path));
      const rest = draft.filter((other) => other !== known);
      return [...rest, { prompt: event.promptName, sections: [...kept, ...changed] }];
    }),
});

function changedSections({ keys, closed = [] }: SectionsOpened): OpenedSections["sections"] {
  return [
    ...keys.map((path) => ({ path, visibility: "full" as const })),
    ...closed.map((path) => ({ path, visibility: "summary" as const })),
  ];
}
