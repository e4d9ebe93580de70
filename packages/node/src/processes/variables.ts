/** The variables that a program sees: those named that are set, and PATH. */
export function variablesNamed(env: readonly string[]): Record<string, string> {
  const names = [...new Set(["PATH", ...env])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
