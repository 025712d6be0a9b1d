// What the states of a node look like, beside their colours (style/cluster.css): a mark for who sees no colours.
export const states = [
	{ name: 'active', mark: '' },
	{ name: 'ready', mark: '·' },
	{ name: 'draining', mark: '◂' },
	{ name: 'cleaning', mark: '◇' },
	{ name: 'deploying', mark: '▸' },
	{ name: 'new', mark: '+' },
	{ name: 'commissioning', mark: '+' },
	{ name: 'maintenance', mark: '–' },
	{ name: 'quarantined', mark: '×' },
];
export const markOf = (state) => states.find((s) => s.name === state)?.mark ?? '?';
