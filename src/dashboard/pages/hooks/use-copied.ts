import { useEffect, useState } from 'preact/hooks'

/** How long something says that it was copied. */
const COPIED_MS = 2_000

/** Whether something was copied a moment ago, and a way to say that it was. */
export const useCopied = (): [isCopied: boolean, markCopied: () => void] => {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  return [isCopied, () => setCopied(true)]
}
