import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// The same names every time: the server embeds these four files and no others.
export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'app.js',
        assetFileNames: 'app[extname]',
        inlineDynamicImports: true,
      },
    },
  },
  // The tests compare words with the sources of the program.
  server: { fs: { allow: ['..'] }, proxy: { '/api': 'http://127.0.0.1:8800' } },
  test: { include: ['tests/unit/**/*.test.ts'] },
});
