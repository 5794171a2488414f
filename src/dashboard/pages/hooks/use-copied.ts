import { useEffect, useState } from 'preact/hooks'

/** How long the confirmation of a copy is shown. */
const COPIED_MS = 2_000

/** Whether something was just copied, and a function to say so. */
export const useCopied = (): [isCopied: boolean, markCopied: () => void] => {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  return [isCopied, () => setCopied(true)]
}
