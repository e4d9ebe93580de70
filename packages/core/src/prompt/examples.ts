/** A whole task, shown to the model. Not supported yet. */
export interface TaskExample {
  readonly objective: string;
  readonly steps: readonly { readonly tool: string; readonly input: unknown; readonly output?: unknown }[];
  readonly outcome?: unknown;
}
