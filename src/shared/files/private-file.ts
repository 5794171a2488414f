/** Permissions of users other than the owner. */
const OTHERS = 0o077

/**
 * Why a file or folder that holds secrets must not be used, with the command that corrects it;
 * undefined if only its owner may use it. The mode is read, not tried: root may read everything.
 */
export const explainOpen = (
  path: string,
  mode: number,
  right: '600' | '700' = '600',
): string | undefined =>
  (mode & OTHERS) === 0
    ? undefined
    : `${path} holds secrets and is open to others (mode ${(mode & 0o777).toString(8)}); ` +
      `run: chmod ${right} ${path}`
