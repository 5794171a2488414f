import { defineConfig } from 'vite'

/**
 * How the page is built: files with hashed names, and nothing inline, as its content security
 * policy wants.
 */
export default defineConfig({
  // Relative, so that the page does not care where it is mounted.
  base: './',
  logLevel: 'warn',
  build: {
    // Beside it lie the compiled files of the server: only this folder is emptied.
    outDir: '../../../dist/dashboard/pages',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
})
