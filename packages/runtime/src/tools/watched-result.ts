import type { DispatchResult } from "@proviso/core";

/** Makes a DispatchResult that knows whether it was looked at. */
export function watchedResult(errors: readonly unknown[]): { readonly result: DispatchResult; isRead(): boolean } {
  let read = false;
  // Both have to be the object's own, for handlers that spread or print it; it is made for a failed dispatch alone.
  /* oxlint-disable proviso/no-accessors-in-literals */
  const result: DispatchResult = {
    get ok() {
      read = true;
      return false;
    },
    get errors() {
      read = true;
      return errors;
    },
  };
  /* oxlint-enable proviso/no-accessors-in-literals */
  return { result, isRead: () => read };
}
