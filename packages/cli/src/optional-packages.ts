import { UsageError } from "./usage.ts";

/**
 * Awaits the import of packages that need not be installed.
 * @throws {UsageError} that names the command which installs them, where one is missing.
 */
export async function installed<T>(command: string, packages: readonly string[], loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const names = packages.join(" ");
    const what = packages.length === 1 ? `the package ${names}` : `the packages ${packages.join(" and ")}`;
    throw new UsageError(`${command} needs ${what}: npm install --save-dev ${names}`);
  }
}
