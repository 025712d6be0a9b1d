// Who held which node: a row a node, a bar for each pool that had it. In portions: a cluster has more nodes than a page.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api.js';
import { html } from './html.js';
import { moment } from './words.js';

const PORTION = 40, ASKED = 4 * PORTION;
const WIDTH = 1000, ROW = 16;

function byNode(list) {
	const nodes = new Map();
	for (const h of list)
		nodes.set(h.node, [...(nodes.get(h.node) ?? []), h]);
	return [...nodes];
}

function sentence(node, bars, until) {
	return `${node}: ${bars.map((b) => `${b.pool} from ${moment(b.from_ms)} ${b.until_ms === null || b.until_ms > until ? 'on' : `until ${moment(b.until_ms)}`}`).join(', ')}`;
}

function Bars({ bars, span, colourOf }) {
	const x = (t) => WIDTH * Math.min(1, Math.max(0, (t - span.from) / (span.until - span.from)));
	return html`<svg viewBox=${`0 0 ${WIDTH} ${ROW}`} preserveAspectRatio="none" aria-hidden="true">
		${bars.map((b) => html`<rect key=${b.from_ms} class=${`bar-${colourOf(b.pool) % 8 + 1}`} x=${x(b.from_ms)} y="1" height=${ROW - 2}
			width=${Math.max(1, x(b.until_ms ?? span.until) - x(b.from_ms))}><title>${b.pool}</title></rect>`)}</svg>`;
}

export function Holdings({ span, colourOf, tick }) {
	const [after, setAfter] = useState(['']);
	const [shown, setShown] = useState({ nodes: [], more: false });
	const [error, setError] = useState('');
	useEffect(() => {
		const abort = new AbortController();
		const ask = `/v1/timeline/nodes?from=${Math.round(span.from)}&until=${Math.round(span.until)}&after=${encodeURIComponent(after.at(-1))}&limit=${ASKED}`;
		get(ask, { signal: abort.signal, watch: true }).then((a) => {
			const nodes = byNode(a.holdings);
			setShown({ nodes: nodes.slice(0, PORTION), more: a.more || nodes.length > PORTION });
			setError('');
		}, (e) => e.name !== 'AbortError' && setError(e.message));
		return () => abort.abort();
	}, [span.from, span.until, after, tick]);
	return html`<section class="panel sheet" aria-label="Who held which nodes"><div class="bar"><h2>Who held which nodes</h2>
			<button type="button" class="by" disabled=${after.length < 2} onClick=${() => setAfter(after.slice(0, -1))}>Nodes before</button>
			<button type="button" disabled=${!shown.more} onClick=${() => setAfter([...after, shown.nodes.at(-1)[0]])}>Further nodes</button></div>
		${error && html`<p class="trouble" role="alert">${error}</p>`}
		<ul class="holdings">${shown.nodes.map(([node, bars]) => html`<li key=${node}><span>${node}</span><span class="heard">${sentence(node, bars, span.until)}</span>
			<${Bars} bars=${bars} span=${span} colourOf=${colourOf} /></li>`)}</ul>
		${!shown.nodes.length && !error && html`<p class="quiet">Nobody held a node that you may know of.</p>`}</section>`;
}
