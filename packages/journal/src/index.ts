export type { Frame, JournalStore } from "./store.ts";
