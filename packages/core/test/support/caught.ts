/** What it threw; fails when it threw nothing. */
export function caught(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error(`threw what is no error: ${String(error)}`, { cause: error });
  }
  throw new Error("nothing was thrown");
}
