package findings

// Rules is every rule. A new one is a file of its own and a line here.
var Rules = []Rule{
	roundTrip,
	repeatedUpload,
	tinyCopies,
	tensorPerItem,
	pageableCopies,
	asyncPageable,
	syncCopy,
	noOverlap,
	duplicateComputation,
	launchBound,
	graphCandidate,
	belowCrossover,
	syncPerItem,
	implicitSync,
	apiSync,
	syncMemset,
	allocInLoop,
	padding,
	tensorCores,
	lowOccupancy,
	loaderStarvation,
	collateReallocates,
	gpuGaps,
	gpuUtilisation,
}
