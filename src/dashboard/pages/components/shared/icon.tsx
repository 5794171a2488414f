/** Outlines on a grid of 16 × 16, in the colour of the text. */
const PATHS = {
  check: 'M3 8.5l3.2 3.2L13 5',
  copy: 'M6 5.5h6.5v8H6zM3.5 11V2.5H10',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6a2 2 0 100 4 2 2 0 000-4z',
  eyeOff:
    'M2 2l12 12M6.6 3.7A6 6 0 018 3.5c4 0 6.5 4.5 6.5 4.5a12 12 0 01-1.9 2.4M4 4.9A12 12 0 001.5 8S4 12.5 8 12.5a6 6 0 003-.8M6.6 6.6a2 2 0 002.8 2.8',
  warning: 'M8 2.2l6.3 11.3H1.7zM8 6.5v3.2M8 11.6v.1',
  pulse: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  key: 'M10 2.5a3.5 3.5 0 11-2.6 5.8L2.5 13.2v-2l.9-.9M10.8 5.2v.1',
  leave: 'M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3',
  shield: 'M8 1.8l5.2 2v3.9c0 3-2.1 5.3-5.2 6.5-3.1-1.2-5.2-3.5-5.2-6.5V3.8z',
  down: 'M4 6.5l4 4 4-4',
  up: 'M4 9.5l4-4 4 4',
  cross: 'M4 4l8 8M12 4l-8 8',
} as const

export const Icon = ({ name }: { readonly name: keyof typeof PATHS }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
)
