import { defineEvent, defineSlice, type FrameworkEvent, type Slice } from "@proviso/core";
import { openedSections } from "@proviso/core/internal";
import { z } from "zod";
import { counted, keyOf, labelOf } from "./names.ts";

export const noted = defineEvent("noted", z.object({ text: z.string() }));

export const ledger = defineSlice({
  name: "ledger",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
/** Kept whatever happens. */
export const journal = defineSlice({
  name: "journal",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => draft.push(text)),
});
/** Calls that succeeded, kept whatever happens. */
export const successes = defineSlice({
  name: "successes",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) =>
    on("tool.invoked", (draft, event) => {
      if (event.result.success) draft.push(keyOf(event));
    }),
});

/** Every step of every evaluation, as state: it goes back with a call that fails. */
export const census = defineSlice({
  name: "census",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    for (const type of counted) on(type, (draft, event) => void draft.push(labelOf(event as FrameworkEvent)));
  },
});
export const unrecordable = "unrecordable";
/** A reducer that refuses some recordings. */
const recorder = defineSlice({
  name: "recorder",
  initial: 0,
  reducers: ({ on }) =>
    on("tool.invoked", (count, { result }) => {
      if (result.success && result.message === unrecordable) throw new Error("the recorder refuses");
      return count + 1;
    }),
});

export const slices: readonly Slice[] = [ledger, journal, successes, census, recorder, openedSections];
