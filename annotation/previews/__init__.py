"""Previews: videos looked into, and their moments cut to GIF and MP4. All but the service is a plain library.

Every preview shows the video at ``start``, ``start + 1/3 s``, ... before ``end``: at each instant the frame on screen
at that time. ffmpeg lays the video on a fine grid of ticks and hands over the wanted ones only, so that one pass over
many moments and one call for a single moment show the same instants.
"""
