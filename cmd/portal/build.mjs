// Bundles the portal's pages: `node build.mjs OUT MODULES`. Called by portal.mk; asks no network. Each file but index.html is named by its
// digest, so that browsers keep it for ever, and has a compressed one beside it. What a page fetches by import() alone, when it is wanted,
// is a bundle of its own. Never runs on the head.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const [out, modules] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const esbuild = createRequire(join(modules, 'package.json'))('esbuild');
const FIRST_PAGE_MAX = 300_000; // bytes on the wire

const common = { bundle: true, minify: true, write: false, charset: 'utf8', nodePaths: [modules] };

function publish(named, contents) {
	writeFileSync(join(out, named), contents);
	writeFileSync(join(out, `${named}.gz`), gzipSync(contents, { level: 9 }));
	return named;
}

function publishAs(name, contents) {
	const digest = createHash('sha256').update(contents).digest('hex').slice(0, 16);
	const dot = name.lastIndexOf('.');
	return publish(`${name.slice(0, dot)}-${digest}${name.slice(dot)}`, contents);
}

function style() {
	return esbuild.buildSync({ ...common, entryPoints: [join(here, 'style/main.css')] }).outputFiles[0].contents;
}

// The scripts: the first one's name, and the names of those that it cannot begin without.
function scripts() {
	const made = esbuild.buildSync({
		...common, entryPoints: { app: join(here, 'src/main.js') }, format: 'esm', target: 'es2022', legalComments: 'eof', splitting: true,
		metafile: true, outdir: out, entryNames: '[name]-[hash]', chunkNames: '[name]-[hash]',
	});
	for (const file of made.outputFiles)
		publish(basename(file.path), file.contents);
	const outputs = Object.fromEntries(Object.entries(made.metafile.outputs).map(([path, o]) => [basename(path), o]));
	const first = new Set([Object.keys(outputs).find((name) => outputs[name].entryPoint?.endsWith('src/main.js'))]);
	for (const name of first) // it grows as we go
		for (const of of outputs[name].imports)
			if (of.kind === 'import-statement')
				first.add(basename(of.path));
	return [...first];
}

mkdirSync(out, { recursive: true });
for (const old of readdirSync(out))
	if (/\.(html|js|css|svg)(\.gz)?$/.test(old))
		rmSync(join(out, old));
const [app, ...beside] = scripts();
const names = { SCRIPT: app, STYLE: publishAs('style.css', style()), ICON: publishAs('icon.svg', readFileSync(join(here, 'icon.svg'))) };
const index = publish('index.html', readFileSync(join(here, 'index.html'), 'utf8').replace(/SCRIPT|STYLE|ICON/g, (word) => names[word]));
const wire = (files) => files.reduce((n, file) => n + readFileSync(join(out, `${file}.gz`)).length, 0);
const first = wire([index, ...Object.values(names), ...beside]);
const all = wire(readdirSync(out).filter((file) => existsSync(join(out, `${file}.gz`))));
console.log(`  PAGE  ${out}: ${first} bytes on the wire, and ${all - first} of what is fetched when it is wanted`);
if (first > FIRST_PAGE_MAX)
	throw new Error(`the first page has ${first} bytes on the wire, more than ${FIRST_PAGE_MAX}`);
