import { describeAdapter, type ConformanceSettings } from "@proviso/adapter-kit/conformance";
import type { ProviderAdapter } from "@proviso/core";
import { playScript } from "@proviso/fault-matrix";

type Given = ConformanceSettings & { readonly baseURL: string };

/** A key that only the model knows is kept out of errors and events by `secrets`. */
export function overTheWire(
  name: string,
  make: (given: Given) => ProviderAdapter,
  skip: readonly { readonly rule: string; readonly why: string }[] = [],
): void {
  describeAdapter(name, {
    skip,
    async start(script, settings) {
      const { baseURL, ...played } = await playScript(script);
      return { ...played, adapter: make({ baseURL, ...settings }) };
    },
  });
}
