interface HostProcess {
  readonly env?: Readonly<Record<string, string | undefined>>;
  getBuiltinModule?(name: string): unknown;
}

/**
 * Returns a module that the host brings, Node's name for it given; undefined where there is none. It is looked up and not
 * imported, so that a package loads in every runtime. Node, Bun, Deno and workerd with nodejs_compat have such modules.
 */
export function hostModule<Module extends object>(name: string): Partial<Module> | undefined {
  const host = hostProcess();
  const found = host?.getBuiltinModule?.(name);
  return typeof found === "object" && found !== null ? (found as Partial<Module>) : undefined;
}

/** An environment variable, without the space around it; blank is as if left out, and so is one that must not be read. */
export function environmentVariable(name: string): string | undefined {
  try {
    return hostProcess()?.env?.[name]?.trim() || undefined;
  } catch {
    // Deno wants a permission for each.
    return undefined;
  }
}

function hostProcess(): HostProcess | undefined {
  return (globalThis as { readonly process?: HostProcess }).process;
}
