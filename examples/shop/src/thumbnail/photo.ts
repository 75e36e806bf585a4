import sharp from 'sharp';

const COLOURS = { mug: 'crimson', shirt: 'teal', poster: 'goldenrod' };

export type Product = keyof typeof COLOURS;
export const PRODUCTS = ['mug', 'shirt', 'poster'] as const satisfies Product[];

/** Returns the product's photo as a camera would deliver it: a JPEG of 1600 × 1200. */
export function takePhoto(product: Product): Promise<Buffer> {
  const drawing = `
    <svg xmlns="http://www.w3.org/2000/svg" width="1600" height="1200">
      <radialGradient id="light"><stop stop-color="white"/><stop offset="1" stop-color="${COLOURS[product]}"/></radialGradient>
      <rect width="1600" height="1200" fill="${COLOURS[product]}"/>
      <circle cx="800" cy="600" r="450" fill="url(#light)"/>
    </svg>`;
  return sharp(Buffer.from(drawing)).jpeg().toBuffer();
}
